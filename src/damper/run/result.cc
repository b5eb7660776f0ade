#include "damper/run/result.h"

#include <memory>
#include <mutex>
#include <ranges>
#include <utility>
#include <vector>

#include "damper/base/check.h"
#include "damper/run/classify_exception.h"

namespace damper {
namespace run {
namespace {

using Classifiers = std::vector<ExceptionClassifier>;

// Replaced as a whole, so that no classifier is called under the lock.
struct Registry {
  std::mutex mutex;
  std::shared_ptr<const Classifiers> classifiers = std::make_shared<Classifiers>();
};

Registry& registry() {
  static auto* const kRegistry = new Registry;  // Threads may fail calls while the process exits.
  return *kRegistry;
}

}  // namespace

void add_classifier(ExceptionClassifier classifier) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  DAMPER_CHECK(all.classifiers->size() < kMostClassifiers);
  auto more = std::make_shared<Classifiers>(*all.classifiers);
  more->push_back(std::move(classifier));
  all.classifiers = std::move(more);
}

std::optional<decide::Report> find_report(const std::exception_ptr& error) noexcept {
  try {
    std::shared_ptr<const Classifiers> classifiers;
    {
      Registry& all = registry();
      const std::lock_guard lock(all.mutex);
      classifiers = all.classifiers;
    }
    for (const ExceptionClassifier& classifier : *classifiers | std::views::reverse) {
      if (const std::optional<decide::Report> report = classifier(error)) return report;
    }
  } catch (...) {  // A classifier that throws has classified nothing.
  }
  return std::nullopt;
}

}  // namespace run

Unexpected<Failure> failed_by_exception() noexcept {
  // Nothing is known but that it failed: repeating it could do anything.
  Unexpected<Failure> failure = failed({.outcome = decide::Outcome::permanent, .unknown = true});
  const std::exception_ptr thrown = std::current_exception();
  if (const auto report = run::find_report(thrown)) {
    failure = failed(*report);
  } else {
    try {
      throw;
    } catch (const std::system_error& error) {
      failure = failed(error.code());
    } catch (...) {  // It stays unknown.
    }
  }
  failure.error.exception = thrown;
  return failure;
}

}  // namespace damper
