// Package admit decides who may open a line, and how long it may stay open. It is pure: facts about the agent and its
// Cluster go in, a refusal or an end time comes out.
//
// The API server that forwards the request hides the agent's certificate, except for its fingerprint. The hub recorded
// the expiry of the certificate that it issued last; for an older one, the agent states the expiry. An agent that lies
// or says nothing gains at most the time until the line reaches its maximum age, and cannot open another.
package admit
