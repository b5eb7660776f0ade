#include "damper/proxy/request/passage_sink.h"

#include <utility>

#include "damper/proxy/request/passage.h"

namespace damper::proxy {

PassageSink::PassageSink(http::Loop& loop, std::shared_ptr<const LoopTable> table, AccessSink& log)
    : TurnEnd(loop), loop_(loop), log_(log), table_(std::move(table)), waiting_(loop) {
  spare_.reserve(kMostSpare);
}

PassageSink::~PassageSink() {
  while (first_ != nullptr) {
    Passage* const passage = first_;
    first_ = passage->after_;
    passage->abandon();
    delete passage;
  }
}

http::StreamUser& PassageSink::on_request(http::Stream& stream) {
  Passage* passage = nullptr;
  if (spare_.empty()) {
    passage = new Passage(*this);
  } else {
    passage = spare_.back().release();
    spare_.pop_back();
  }
  passage->before_ = nullptr;
  passage->after_ = std::exchange(first_, passage);
  if (passage->after_ != nullptr) passage->after_->before_ = passage;
  ++under_way_;
  passage->begin(stream, table_);
  return *passage;
}

void PassageSink::on_over(Passage& passage) {
  --under_way_;
  ended_.push_back(&passage);
  ask_turn_end();
}

// Nobody is on the stack below who could still touch one of them.
void PassageSink::on_turn_end() {
  for (Passage* const passage : ended_) {
    (passage->before_ != nullptr ? passage->before_->after_ : first_) = passage->after_;
    if (passage->after_ != nullptr) passage->after_->before_ = passage->before_;
    std::unique_ptr<Passage> owned(passage);
    owned->recycle();
    if (spare_.size() < kMostSpare) spare_.push_back(std::move(owned));
  }
  ended_.clear();
}

}  // namespace damper::proxy
