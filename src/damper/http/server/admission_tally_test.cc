#include "damper/http/server/admission.h"

#include <gtest/gtest.h>

#include <set>

namespace damper::http {
namespace {

using admit::Criticality;

TEST(AdmissionTally, CountsByVerdictAndCriticality) {
  AdmissionTally tally;
  tally.count(Verdict::shed, Criticality::sheddable);
  tally.count(Verdict::shed, Criticality::sheddable);
  tally.count(Verdict::shed, Criticality::critical);
  tally.count(Verdict::success, Criticality::critical);
  EXPECT_EQ(tally.requests(Verdict::shed, Criticality::sheddable), 2U);
  EXPECT_EQ(tally.requests(Verdict::shed), 3U);
  EXPECT_EQ(tally.requests(Verdict::success), 1U);
  EXPECT_EQ(tally.requests(Verdict::cancelled), 0U);
}

TEST(AdmissionTally, EachVerdictOfADoorIsListedOnce) {
  EXPECT_EQ(std::set<Verdict>(kAdmissionVerdicts.begin(), kAdmissionVerdicts.end()).size(),
            kAdmissionVerdicts.size());
}

}  // namespace
}  // namespace damper::http
