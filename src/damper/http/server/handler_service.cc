#include "damper/http/server/handler_service.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "damper/base/check.h"
#include "damper/observe/registry.h"

namespace damper::http {
namespace {

bool has_no_body(int status) { return status == 204 || status == 304; }

}  // namespace

struct HandlerService::Shared {
  Loop& loop;
  Handler handler;
  HandlerServiceOptions options;
  ServerMetrics* metrics;
  std::size_t gathered = 0;  // bytes of all bodies
};

// One request. Its stream holds it, and so do the handlers, through the ExchangePtr that dispatch()
// makes; it goes when both have let go. The ExchangePtr's control block lies within: its memory is
// given back when the handlers are done with it, weak pointers included.
class HandlerService::Incoming final : public Exchange, public StreamUser {
 public:
  Incoming(std::shared_ptr<Shared> shared, Stream& stream)
      : shared_(std::move(shared)), stream_(&stream) {
    arrived_ = stream.began();
  }
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  ~Incoming() override { drop_body(); }

  void respond(Response response) override {
    if (is_over()) return;
    answered_ = true;
    give_up_ = {};
    if (response.status < 200 || response.status > 599) {
      response = Response::plain(500, "the handler's status is none\n");
    }
    if (shared_->metrics != nullptr) {
      shared_->metrics->on_answered(response.status, between(arrived_, shared_->loop.now()));
    }
    if (request_.method == "HEAD" || has_no_body(response.status)) {
      return stream_->send_head(response.head(), true);
    }
    response_ = std::move(response);
    const bool end = response_.body.empty() && response_.trailers.empty();
    stream_->send_head(response_.head(), end);
    if (!end) send_rest();
  }
  [[nodiscard]] bool is_over() const noexcept override { return answered_ || stream_ == nullptr; }
  void on_cancel(std::function<void()> give_up) override {
    if (answered_) return;
    if (stream_ == nullptr) return give_up();
    if (!give_up_) {
      give_up_ = std::move(give_up);
    } else {
      give_up_ = [first = std::move(give_up_), second = std::move(give_up)] {
        first();
        second();
      };
    }
  }
  [[nodiscard]] bool is_here() const noexcept override { return shared_->loop.is_here(); }
  void post(std::function<void()> work) override { shared_->loop.post(std::move(work)); }

  void on_head(const Head& head, bool end) override {
    request_ = Request::from(head);
    if (head.method == "CONNECT") return refuse(Response::plain(501, "no tunnels here\n"));
    if (head.content_length.value_or(0) > shared_->options.max_request_body) {
      return refuse(Response::plain(413, "too large\n"));
    }
    if (!has_room(head.content_length.value_or(0))) return refuse_for_want_of_room();
    if (end) return dispatch();
  }
  void on_data(std::string_view bytes) override {
    if (!refused_) {
      if (bytes.size() > shared_->options.max_request_body - request_.body.size()) {
        refuse(Response::plain(413, "too large\n"));
      } else if (!has_room(bytes.size())) {
        refuse_for_want_of_room();
      } else {
        request_.body.append(bytes);
        gathered_ += bytes.size();
        shared_->gathered += bytes.size();
        if (shared_->metrics != nullptr) shared_->metrics->on_gathered(bytes.size());
      }
    }
    if (stream_ != nullptr) stream_->consumed(bytes.size());
  }
  void on_end(std::span<const Field>) override {
    if (!refused_) dispatch();
  }
  void on_writable() override { send_rest(); }
  void on_close(CloseReason) override {
    stream_ = nullptr;
    if (!answered_) {
      if (shared_->metrics != nullptr) shared_->metrics->on_cancelled();
      if (const auto give_up = std::exchange(give_up_, {})) give_up();
    }
    let_go();
  }

 private:
  template <class T>
  struct Within {
    using value_type = T;
    explicit Within(Incoming& at) noexcept : incoming(&at) {}
    template <class U>
    Within(const Within<U>& other) noexcept : incoming(other.incoming) {}
    T* allocate(std::size_t count) {
      static_assert(sizeof(T) <= kBlock);
      // NOLINTNEXTLINE(misc-redundant-expression): not for every T
      static_assert(alignof(T) <= alignof(std::max_align_t));
      DAMPER_CHECK(count == 1);
      ++incoming->holders_;
      return reinterpret_cast<T*>(incoming->block_);
    }
    void deallocate(T*, std::size_t) noexcept { incoming->on_handlers_gone(); }
    bool operator==(const Within&) const = default;
    Incoming* incoming;
  };
  static constexpr std::size_t kBlock = 64;

  void dispatch() {
    ExchangePtr exchange(
        this, [](Incoming* incoming) { incoming->on_unanswered(); }, Within<Incoming>(*this));
    try {
      shared_->handler(std::move(exchange));
    } catch (...) {
      // The exchange was let go of on the way here.
    }
  }
  void refuse(Response response) {
    refused_ = true;
    drop_body();
    respond(std::move(response));
  }
  [[nodiscard]] bool has_room(std::uint64_t bytes) const noexcept {
    return bytes <= shared_->options.max_gathered_bytes - shared_->gathered;
  }
  void refuse_for_want_of_room() {
    if (shared_->metrics != nullptr) shared_->metrics->on_no_room();
    Response response = Response::plain(503, "no room for the body now\n");
    response.fields.add("retry-after", "1");
    refuse(std::move(response));
  }
  void drop_body() noexcept {
    request_.body = {};
    if (gathered_ == 0) return;
    if (shared_->metrics != nullptr) shared_->metrics->on_dropped(gathered_);
    shared_->gathered -= std::exchange(gathered_, 0);
  }
  void send_rest() {
    if (stream_ == nullptr || !answered_) return;
    const bool trailers = !response_.trailers.empty();
    const std::string_view rest = std::string_view(response_.body).substr(sent_);
    if (!rest.empty()) {
      const std::size_t taken = stream_->send_data(rest, !trailers);
      sent_ += taken;
      if (taken < rest.size()) return;
    } else if (!trailers) {
      return;  // The end of the stream was sent before.
    }
    if (trailers) {
      const FieldList last = std::exchange(response_.trailers, {});
      stream_->send_trailers(last.view());
    }
  }
  void let_go() noexcept {
    if (--holders_ == 0) delete this;
  }
  // The handlers' last pointer is gone, and with on_handlers_gone() its memory. Both may come on
  // any thread: a worker that has handed its answer over may be the last to forget the exchange.
  void on_unanswered() {
    if (!shared_->loop.is_here()) {
      return shared_->loop.post([this] { on_unanswered(); });
    }
    give_up_ = {};
    respond(Response::plain(500, "no answer\n"));
  }
  void on_handlers_gone() noexcept {
    if (shared_->loop.is_here()) return on_handlers_gone_here();
    // Also when the loop goes without having run it.
    struct LetGo {
      void operator()(Incoming* incoming) const noexcept { incoming->on_handlers_gone_here(); }
    };
    shared_->loop.post([last = std::unique_ptr<Incoming, LetGo>(this)] {});
  }
  void on_handlers_gone_here() noexcept {
    drop_body();
    let_go();
  }

  std::shared_ptr<Shared> shared_;
  Stream* stream_;
  int holders_ = 1;        // the stream, and the handlers
  bool answered_ = false;  // or being so
  bool refused_ = false;   // The rest of the request is of no interest.
  std::function<void()> give_up_;
  Response response_;  // while it is being sent
  std::size_t sent_ = 0;
  std::size_t gathered_ = 0;  // bytes of the body, wherever it is
  alignas(std::max_align_t) std::byte block_[kBlock];
};

HandlerService::HandlerService(Loop& loop, Handler handler, const HandlerServiceOptions& options,
                               ServerMetrics* metrics)
    : shared_(std::make_shared<Shared>(Shared{loop, std::move(handler), options, metrics})) {}

HandlerService::~HandlerService() = default;

StreamUser& HandlerService::on_request(Stream& stream) { return *new Incoming(shared_, stream); }

Handler answer_with(std::function<Response(const Request&)> answer) {
  return [answer = std::move(answer)](const ExchangePtr& exchange) {
    try {
      exchange->respond(answer(exchange->request()));
    } catch (...) {
      exchange->respond(Response::plain(500, "the handler failed\n"));
    }
  };
}

Handler make_metrics_handler(const observe::Registry& registry) {
  return answer_with([&registry](const Request& request) {
    if (request.method != "GET" && request.method != "HEAD") {
      Response refused = Response::plain(405, "GET alone\n");
      refused.fields.add("allow", "GET, HEAD");
      return refused;
    }
    Response response;
    response.fields.add("content-type", observe::kExpositionType);
    response.body = registry.expose();
    return response;
  });
}

}  // namespace damper::http
