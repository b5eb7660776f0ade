#pragma once

#include <memory>
#include <utility>

#include "damper/webhooks/api/api_handler.h"

namespace damper::webhooks {

template <class T, class Then>
Store::Done<T> ApiHandler::back(const Call& call, Then then) {
  ++waiting_;
  return [this, exchange = call.exchange,
          then = std::move(then)](Expected<T, StoreError> result) mutable {
    auto kept = std::make_shared<Expected<T, StoreError>>(std::move(result));
    exchange->post([this, kept = std::move(kept), then = std::move(then)]() mutable {
      --waiting_;
      if (closed_) return;
      then(*kept);
    });
  };
}

template <class T, class Then>
Store::Done<T> ApiHandler::back_if_good(const Call& call, Then then) {
  return back<T>(call, [this, call, then = std::move(then)](Expected<T, StoreError>& result) {
    if (!result) return refuse(call, result.error());
    then(*result);
  });
}

}  // namespace damper::webhooks
