// Package agentlimit bounds what the agent of one cluster has kube-apiserver store. Whoever stole the certificate of an agent may write what
// that agent may, and would otherwise fill the database, and the memory of all who watch, for every cluster.
//
// It is a step of admission, and no filter of requests, since only there it is known what is stored: a patch of a few bytes writes the whole
// object anew, `copy` of a JSON patch multiplies what it is given, and `<` takes six bytes in the database.
//
//   - A status has room for so many bytes. What the agents report of a Cluster with a thousand kinds takes an eighth of that.
//   - Each agent has a number of bytes that it may send, which comes back by and by: of a status that is the status, of all else the whole
//     object. It has a larger one for the objects that the database writes whole on its behalf. That is enough for one that returns after an
//     outage with thousands of Works; what is beyond it is answered with 429 and with when to try again, as clients of Kubernetes do.
package agentlimit
