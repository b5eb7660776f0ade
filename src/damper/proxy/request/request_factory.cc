#include "damper/proxy/request/request_factory.h"

#include <utility>

namespace damper::proxy {

RequestFactory::RequestFactory(http::Loop& loop, std::shared_ptr<const LoopTable> table,
                               AccessSink& log)
    : TurnEnd(loop), loop_(loop), log_(log), table_(std::move(table)), waiting_(loop) {
  spare_.reserve(kMostSpare);
}

RequestFactory::~RequestFactory() {
  requests_.clear_and_dispose([](ProxiedRequest* request) {
    request->abandon();
    delete request;
  });
}

http::StreamUser& RequestFactory::on_request(http::Stream& stream) {
  ProxiedRequest* request = nullptr;
  if (spare_.empty()) {
    request = new ProxiedRequest(*this);
  } else {
    request = spare_.back().release();
    spare_.pop_back();
  }
  requests_.push_front(*request);
  request->begin(stream, table_);
  return *request;
}

void RequestFactory::on_over(ProxiedRequest& request) {
  ended_.push_back(&request);
  ask_turn_end();
}

// No function of a request is on the stack.
void RequestFactory::on_turn_end() {
  for (ProxiedRequest* const request : ended_) {
    requests_.erase(Requests::s_iterator_to(*request));
    std::unique_ptr<ProxiedRequest> owned(request);
    owned->recycle();
    if (spare_.size() < kMostSpare) spare_.push_back(std::move(owned));
  }
  ended_.clear();
}

}  // namespace damper::proxy
