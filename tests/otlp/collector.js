// collector.js: an OTLP collector's view. Reads lines of base64 from standard input, each the body of
// a POST /v1/traces, and prints the spans of all of them as one line of JSON. The messages are
// decoded by the definitions of OpenTelemetry's own package, @opentelemetry/otlp-transformer.
const root = require("@opentelemetry/otlp-transformer/build/src/generated/root");

const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;

function hex(bytes) {
  return Buffer.from(bytes || []).toString("hex");
}

function plain(attributes) {
  const all = {};
  for (const { key, value } of attributes) {
    const one = Object.values(value)[0];
    all[key] = typeof one === "object" ? String(one) : one;  // A Long.
  }
  return all;
}

const spans = [];
const input = require("fs").readFileSync(0, "utf8");
for (const line of input.split("\n").filter(Boolean)) {
  const message = Request.decode(Buffer.from(line, "base64"));
  const wrong = Request.verify(message);
  if (wrong) throw new Error(wrong);
  for (const resource of message.resourceSpans) {
    for (const scope of resource.scopeSpans) {
      for (const span of scope.spans) {
        spans.push({
          trace: hex(span.traceId),
          span: hex(span.spanId),
          parent: hex(span.parentSpanId),
          name: span.name,
          kind: span.kind,
          start: String(span.startTimeUnixNano),
          end: String(span.endTimeUnixNano),
          status: span.status ? span.status.code : 0,
          state: span.traceState,
          links: span.links.map((link) => hex(link.traceId)),
          attributes: plain(span.attributes),
          service: plain(resource.resource.attributes)["service.name"],
          scope: scope.scope.name,
        });
      }
    }
  }
}
console.log(JSON.stringify(spans));
