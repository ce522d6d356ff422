// SPDX-License-Identifier: MIT
// Answers lines; the hashes are made by the threads of node's pool.
const crypto = require("crypto");
const fs = require("fs");
const net = require("net");

const server = net.createServer((connection) => {
	let rest = "";
	connection.on("error", () => connection.destroy());
	connection.on("data", (data) => {
		const lines = (rest + data).split("\n");
		rest = lines.pop();
		for (const line of lines)
			crypto.pbkdf2(line, "salt", 20, 16, "sha256", (error, key) => {
				connection.write(`${error ?? key.toString("hex")}\n`);
			});
	});
});
setInterval(() => fs.readFile("/etc/hostname", () => {}), 5);
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
