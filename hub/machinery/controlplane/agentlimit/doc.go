// Package agentlimit bounds what a cluster's agent can make kube-apiserver store. Whoever has stolen an agent's
// certificate may write what the agent may, and could otherwise fill the database, and the memory of all watchers, for
// every cluster.
//
// It is an admission step and not a request filter, since only admission sees what will be stored: a patch of a few
// bytes rewrites the whole object, `copy` in a JSON patch multiplies its input, and `<` takes six bytes in the
// database.
//
//   - The size of a status is limited. What an agent reports about a cluster with a thousand kinds takes an eighth of the limit.
//   - The total size of an event, a lease or a certificate request is limited, also for holders of join
//     tokens: metadata.managedFields can contain anything.
//   - Each agent has a budget of bytes that it may send, which is refilled over time: of a status the status
//     counts, of everything else the whole object. A larger budget covers the complete objects that the
//     database writes on its behalf. Both suffice for an agent that returns after an outage with thousands of
//     Works. Beyond them, requests are answered with 429 and a Retry-After, which Kubernetes clients obey.
package agentlimit
