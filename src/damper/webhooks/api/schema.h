#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/base/text/json_reader.h"
#include "damper/webhooks/api/api_error.h"

namespace damper::webhooks {

// What the value of a field may be.
enum class FieldKind : std::uint8_t {
  text,
  boolean,
  integer,
  number,
  duration,   // "15s"
  time,       // "2026-11-16T20:15:00Z"
  texts,      // an array of strings
  durations,  // an array of durations
  text_map,   // an object of strings
  any,        // any JSON value
  object,     // of the schema `of`
  list,       // an array of objects of the schema `of`
};

struct Schema;

struct SchemaField {
  std::string_view name;
  FieldKind kind = FieldKind::text;
  std::string_view description{};
  bool required = false;  // of a body; of an answer: it is always there
  bool nullable = false;
  const Schema* of = nullptr;  // object, list
};

// A Schema is the fields of a JSON object: of a body, which read_body() checks, or of an answer.
// The OpenAPI document is made of the same tables.
struct Schema {
  std::string_view name;
  std::span<const SchemaField> fields;
};

// A body as a JSON object of this schema. No text is {}. The first unknown, missing or mistyped
// field is the error, by its name. Bounds of values are checked by what uses them.
[[nodiscard]] Expected<text::JsonValue, ApiError> read_body(std::string_view text,
                                                            const Schema& schema,
                                                            const text::JsonLimits& limits);

// The schemas, in the order of the document.
[[nodiscard]] std::span<const Schema* const> all_schemas() noexcept;

// Bodies.
extern const Schema kNewApplication;
extern const Schema kNewEndpoint;
extern const Schema kEndpointChange;
extern const Schema kRotation;
extern const Schema kNewMessage;
extern const Schema kRedrive;
extern const Schema kNewRedrive;
extern const Schema kSwitchOrder;
// Answers.
extern const Schema kApplication;
extern const Schema kApplicationList;
extern const Schema kEndpointStatus;
extern const Schema kEndpoint;
extern const Schema kEndpointList;
extern const Schema kSecretAnswer;
extern const Schema kAcceptedMessage;
extern const Schema kMessage;
extern const Schema kMessageList;
extern const Schema kWaiting;
extern const Schema kAttempt;
extern const Schema kAttemptList;
extern const Schema kDeadLetter;
extern const Schema kDeadLetterList;
extern const Schema kMessageDetails;
extern const Schema kRedriven;
extern const Schema kRedriveJob;
extern const Schema kRedriveJobList;
extern const Schema kSwitch;
extern const Schema kSwitchList;
extern const Schema kStats;
extern const Schema kHealth;
extern const Schema kError;

}  // namespace damper::webhooks
