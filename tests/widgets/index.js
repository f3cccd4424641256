// `node --test tests/widgets/` takes the folder for a module in newer versions of node: then every test file is loaded from here.
const { readdirSync } = require("node:fs");
for (const file of readdirSync(__dirname)) if (file.endsWith(".test.mjs")) import("./" + file);
