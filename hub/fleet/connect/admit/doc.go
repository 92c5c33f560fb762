// Package admit decides who may open a line, and for how long it may stay. It only thinks: what is known of the agent and of its
// Cluster goes in, a refusal or an end comes out.
//
// The API server that forwards the request hides the certificate of the agent, but for its fingerprint. When the certificate ends
// the hub knows from the record that it made when it was issued; of another than the last, the agent says it. Whoever says nothing
// or a lie gains at most the time until a line is too old, and cannot open another.
package admit
