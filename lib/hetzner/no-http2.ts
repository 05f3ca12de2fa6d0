/**
 * Takes the place of `node:http2` in the bundle, as it does in a Node.js that is built without it: undici loads that module
 * (1 MiB) with its first client, and all of ours speak HTTP/1.1.
 */
export const constants = {};
