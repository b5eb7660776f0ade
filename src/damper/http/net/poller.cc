#include "damper/http/net/poller.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <boost/asio/detail/reactor.hpp>
#include <boost/asio/detail/reactor_op.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

#include "damper/base/check.h"

namespace damper::http {

namespace detail = boost::asio::detail;

boost::asio::execution_context::id Poller::id;

// A wait that is never done, as that of Asio's signals: so it is asked for once, and is no work
// that the context waits for.
class Poller::Nested final : public detail::reactor_op {
 public:
  Nested(boost::asio::io_context& context, int epoll, Poller& poller)
      : reactor_op({}, &Nested::perform, &Nested::complete),
        reactor_(boost::asio::use_service<detail::reactor>(context)),
        epoll_(epoll),
        poller_(poller) {
    reactor_.init_task();
    const int failed =
        reactor_.register_internal_descriptor(detail::reactor::read_op, epoll, place_, this);
    DAMPER_CHECK(failed == 0);
  }

  void leave() {
    reactor_.deregister_internal_descriptor(epoll_, place_);
    reactor_.cleanup_descriptor_data(place_);
  }

 private:
  static status perform(reactor_op* base) {
    static_cast<Nested*>(base)->poller_.poll();
    return not_done;
  }
  static void complete(void*, detail::operation*, const boost::system::error_code&, std::size_t) {}

  detail::reactor& reactor_;
  detail::reactor::per_descriptor_data place_{};
  int epoll_;
  Poller& poller_;
};

Poller& Poller::of(boost::asio::io_context& context) {
  return boost::asio::use_service<Poller>(context);
}

Poller::Poller(boost::asio::execution_context& owner)
    : service(owner),
      context_(static_cast<boost::asio::io_context&>(owner)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  DAMPER_CHECK(epoll_ >= 0);
  nested_ = std::make_unique<Nested>(context_, epoll_, *this);
}

Poller::~Poller() { (void)::close(epoll_); }

void Poller::shutdown() {
  work_.reset();
  nested_->leave();
}

bool Poller::try_add(int fd, Place& place) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &place;
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void Poller::remove(int fd, Place& place) noexcept {
  // Closing it would do, if no child of ours had it open for a moment, too.
  (void)::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  for (std::size_t left = next_; left < count_; ++left) {
    if (events_[left].data.ptr == &place) events_[left].data.ptr = nullptr;
  }
  unlink(place);
}

void Poller::retire(std::unique_ptr<Place> place) noexcept {
  if (depth_ == 0) return;  // It goes here.
  place->after_ = retired_;
  retired_ = place.release();
}

void Poller::call_soon(Place& place) {
  if (place.is_soon_) return;
  come_back();
  place.is_soon_ = true;
  place.before_ = last_soon_;
  place.after_ = nullptr;
  (last_soon_ != nullptr ? last_soon_->after_ : first_soon_) = &place;
  last_soon_ = &place;
  ++soon_;
}

void Poller::unlink(Place& place) noexcept {
  if (!std::exchange(place.is_soon_, false)) return;
  --soon_;
  (place.before_ != nullptr ? place.before_->after_ : first_soon_) = place.after_;
  (place.after_ != nullptr ? place.after_->before_ : last_soon_) = place.before_;
}

void Poller::hold() {
  if (waits_++ == 0) work_.emplace(context_.get_executor());
}

void Poller::release() noexcept {
  if (--waits_ == 0) work_.reset();
}

std::size_t Poller::poll() {
  told_ = 0;
  ++polls_;
  for (int round = 0; round < kMostRounds; ++round) {
    const bool is_all = fill();
    tell(&Poller::tell_of_changes);
    if (is_all) return told_;
  }
  is_behind_ = true;  // The kernel has told Asio of the rest already, and will not do it again.
  come_back();
  return told_;
}

// Asks the kernel, unless something is left to be told. Whether that is all there is.
bool Poller::fill() noexcept {
  if (next_ < count_) return false;
  const int got = ::epoll_wait(epoll_, events_.data(), kMost, 0);
  next_ = 0;
  count_ = got > 0 ? static_cast<std::size_t>(got) : 0;
  return count_ < kMost && (got >= 0 || errno != EINTR);
}

void Poller::tell(void (Poller::*what)()) {
  ++depth_;
  try {
    (this->*what)();
  } catch (...) {
    end_telling();
    is_behind_ = true;
    come_back();
    throw;
  }
  end_telling();
}

void Poller::tell_of_changes() {
  while (next_ < count_) {
    const epoll_event event = events_[next_++];
    ++told_;
    if (event.data.ptr != nullptr) static_cast<Place*>(event.data.ptr)->on_events(event.events);
  }
}

void Poller::tell_those_soon() {
  // Who asks meanwhile has the next round.
  for (std::size_t left = soon_; left > 0 && first_soon_ != nullptr; --left) {
    Place& place = *first_soon_;
    unlink(place);
    place.on_soon();
  }
}

void Poller::end_telling() noexcept {
  if (--depth_ > 0) return;
  while (retired_ != nullptr) {
    const std::unique_ptr<Place> gone(retired_);
    retired_ = gone->after_;
  }
}

void Poller::come_back() {
  if (std::exchange(is_coming_back_, true)) return;
  boost::asio::post(context_, [this] {
    is_coming_back_ = false;
    tell(&Poller::tell_those_soon);
    if (std::exchange(is_behind_, false)) poll();
  });
}

}  // namespace damper::http
