#pragma once

#include "damper/http/net/loop.h"
#include "damper/webhooks/api/api_client.h"
#include "damper/webhooks/outbox/outbox_relay.h"
#include "damper/webhooks/process/webhook_server.h"

namespace damper::webhooks {

// A sink for a dispatcher in this process: all messages of a batch share its commits. It is called
// on any thread but the loop's, while the loop runs. Loop and server outlive it: destroy the relay
// first, then stop the loop.
[[nodiscard]] OutboxSink embedded_sink(http::Loop& loop, WebhookServer& server);

// A sink for a dispatcher's API, one message after the other. The application of the options is not
// used: each message has its own.
[[nodiscard]] OutboxSink api_sink(ApiClient::Options options);

}  // namespace damper::webhooks
