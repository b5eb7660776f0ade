#ifndef DAMPER_PROXY_REQUEST_PASSAGE_SINK_H_
#define DAMPER_PROXY_REQUEST_PASSAGE_SINK_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "damper/http/client/waiting_line.h"
#include "damper/http/codec/connection.h"
#include "damper/http/net/loop.h"
#include "damper/proxy/data/loop_table.h"
#include "damper/proxy/request/access_record.h"
#include "damper/proxy/request/forward_fields.h"

namespace damper::proxy {

class Passage;

// A PassageSink makes a Passage of each request that begins on one loop: see passage.h. It has what
// they share: the routes, the access log, scratch memory, and the passages that are not in use.
//
// Lifetime: the loop and the log outlive it. It outlives the servers that hand it requests.
// Thread safety: none; one loop.
// Cost: kMostSpare passages are kept for the next requests.
class PassageSink final : public http::RequestSink, private http::Loop::TurnEnd {
 public:
  PassageSink(http::Loop& loop, std::shared_ptr<const LoopTable> table, AccessSink& log);
  PassageSink(const PassageSink&) = delete;
  PassageSink& operator=(const PassageSink&) = delete;
  ~PassageSink() override;

  [[nodiscard]] http::StreamUser& on_request(http::Stream& stream) override;
  // For requests that begin from now on.
  void use(std::shared_ptr<const LoopTable> table) { table_ = std::move(table); }
  [[nodiscard]] std::size_t under_way() const noexcept { return under_way_; }

 private:
  friend class Passage;
  static constexpr std::size_t kMostSpare = 256;

  void on_over(Passage& passage);
  void on_turn_end() override;

  http::Loop& loop_;
  AccessSink& log_;
  std::shared_ptr<const LoopTable> table_;
  http::WaitingLine waiting_;
  ForwardFields forward_;
  std::vector<http::Field> scratch_;  // the fields of the answer that is being passed on
  Passage* first_ = nullptr;          // those under way
  std::size_t under_way_ = 0;
  std::vector<Passage*> ended_;  // in this turn
  std::vector<std::unique_ptr<Passage>> spare_;
};

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_REQUEST_PASSAGE_SINK_H_
