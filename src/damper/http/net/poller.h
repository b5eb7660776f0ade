#ifndef DAMPER_HTTP_NET_POLLER_H_
#define DAMPER_HTTP_NET_POLLER_H_

#include <sys/epoll.h>

#include <array>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace damper::http {

// A Poller is the epoll of a context's connections: it says what has come for which socket.
//
// Why: Asio's reactor asks the kernel, or its own lists and queues, anew for each wait, and it does
// not say that the peer has ended. So a read could not be known to be the last one without asking
// for it.
// Model: a socket has a Place, which is registered once, for everything, edge-triggered. The epoll
// itself is one descriptor of Asio's reactor, which tells when it has something; the poller takes
// all of it then, in one system call. A loop that is busy may ask poll() itself.
// Invariants:
//   (1) Every change of a socket is told to its Place once, unless that was retired before.
//   (2) A Place is told from the context's run() or from poll() alone. It may retire any Place,
//       itself included, and throw: the others are told later.
//   (3) While a wait is held the context has work.
// Thread safety: none.
// Cost: one system call for each 256 changes; no allocation but for call_soon().
class Poller final : public boost::asio::execution_context::service {
 public:
  static boost::asio::execution_context::id id;

  class Place {
   public:
    Place() = default;
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    virtual ~Place() = default;

   protected:
    virtual void on_events(std::uint32_t events) = 0;  // EPOLLIN, EPOLLRDHUP and so on
    virtual void on_soon() = 0;

   private:
    friend class Poller;
    Place* before_ = nullptr;  // of those that are called soon
    Place* after_ = nullptr;
    bool is_soon_ = false;
  };

  [[nodiscard]] static Poller& of(boost::asio::io_context& context);
  explicit Poller(boost::asio::execution_context& owner);  // for of() alone
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;
  ~Poller() override;

  // False: the kernel has no room for it, and will tell nothing.
  [[nodiscard]] bool try_add(int fd, Place& place) noexcept;
  void remove(int fd, Place& place) noexcept;
  // Destroys it as soon as nothing below on the stack needs it. REQUIRES: it was removed.
  void retire(std::unique_ptr<Place> place) noexcept;

  // on_soon() comes after what the context is at; asking twice is asking once.
  void call_soon(Place& place);
  // Somebody waits, or does no longer: what a context's run() lasts for.
  void hold();
  void release() noexcept;

  // Tells of what has come by now, without waiting; of how much it told.
  std::size_t poll();
  // Whether somebody is to be called soon, by the context.
  [[nodiscard]] bool has_soon() const noexcept { return is_coming_back_; }
  // How much was told of last, by poll() or by the context.
  [[nodiscard]] std::size_t last_told() const noexcept { return told_; }
  // How often that was.
  [[nodiscard]] std::uint64_t polls() const noexcept { return polls_; }

 private:
  static constexpr std::size_t kMost = 256;  // changes, of one system call
  static constexpr int kMostRounds = 4;      // system calls, of one poll()

  class Nested;  // the epoll in Asio's reactor

  void shutdown() override;
  bool fill() noexcept;
  void tell(void (Poller::*what)());
  void tell_of_changes();
  void tell_those_soon();
  void end_telling() noexcept;
  void come_back();
  void unlink(Place& place) noexcept;

  boost::asio::io_context& context_;
  int epoll_;
  std::unique_ptr<Nested> nested_;
  std::array<epoll_event, kMost> events_;
  std::size_t next_ = 0;  // of events_, to be told
  std::size_t count_ = 0;
  std::size_t told_ = 0;
  std::uint64_t polls_ = 0;
  int depth_ = 0;                // tell()s on the stack
  bool is_coming_back_ = false;  // the context calls those soon, and poll() if it is behind
  bool is_behind_ = false;
  Place* first_soon_ = nullptr;  // in order
  Place* last_soon_ = nullptr;
  std::size_t soon_ = 0;
  Place* retired_ = nullptr;
  std::size_t waits_ = 0;
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_NET_POLLER_H_
