// Prints the token ids that the Rust library gives, for perch-calibrate check.
// Usage: node rust_ids.cjs NODE_MODULES TOKENIZER_JSON < texts.json > ids.json
const path = require("path");
const fs = require("fs");
const { Tokenizer } = require(path.join(process.argv[2], "@anush008/tokenizers"));

(async () => {
  const texts = JSON.parse(fs.readFileSync(0, "utf8"));
  const tokenizer = Tokenizer.fromFile(process.argv[3]);
  const ids = [];
  for (const text of texts) {
    const encoding = await tokenizer.encode(text, null, { addSpecialTokens: false });
    ids.push(Array.from(encoding.getIds()));
  }
  process.stdout.write(JSON.stringify(ids));
})().catch((err) => {
  console.error(String(err));
  process.exit(1);
});
