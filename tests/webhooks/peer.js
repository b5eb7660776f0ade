// The standard's JavaScript library, as a program. Reads a JSON list of jobs on standard input and
// prints a JSON list of results:
//   {op: "sign", secret, id, time, body}               the signature
//   {op: "verify", secret, id, time, signature, body}  "valid", or the error; `time` is near now
const { Webhook } = require("standardwebhooks");

function run(job) {
  const peer = new Webhook(job.secret);
  if (job.op === "sign") return peer.sign(job.id, new Date(job.time * 1000), job.body);
  try {
    peer.verify(job.body, {
      "webhook-id": job.id,
      "webhook-timestamp": String(job.time),
      "webhook-signature": job.signature,
    });
    return "valid";
  } catch (error) {
    return error.message;
  }
}

const jobs = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(jobs.map(run)));
