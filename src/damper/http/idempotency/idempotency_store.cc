#include "damper/http/idempotency/idempotency_store.h"

namespace damper::http {

Response answer_not_kept() {
  Response response;
  response.status = 409;
  response.fields.add("content-type", "text/plain");
  response.body = "The request was carried out, and its answer could not be kept.\n";
  return response;
}

}  // namespace damper::http
