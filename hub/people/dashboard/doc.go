// Package dashboard is the operator's web page: what is on the hub and how it fares, made on
// the server from embedded templates, with one small script that replaces what changed.
//
//	Reads:     Clusters, bindings, policies and the agents' leases from the hub's cache, into
//	           an index of short rows; everything else live, with the rights of the person. Pods and
//	           logs of members when somebody asks for them, likewise (people/pods).
//	Writes:    what a person asks for and confirms, with that person's rights.
//	Owns:      the index and the history of the last hour, in memory only; who has signed in is
//	           known to people/auth, what is open to people/live.
//	Invariant: nobody sees a row that the API server would not list for them, and nothing is
//	           written with the hub's own rights.
//	Next:      nothing; people read it.
//
// # Rights
//
// Whoever signs in shows a token that the hub's API accepts, such as the ID token that an issuer
// gave them, or a certificate of its client authority. Single objects are read and every write is made as that person: with the
// token itself, or, since a certificate cannot be passed on, by impersonation of exactly the
// user and the groups that the certificate names, after TLS has verified it. The token is
// kept in memory while the session lasts and is never written or sent elsewhere.
//
// A terminal in a pod (people/terminal) is opened by a ticket, which is good once and soon, for the session that asked for it
// by a form, and for pages of this origin only. Logs and terminals end with the session, and the session with the credential, about
// which the API is asked every minute while any of them is open.
//
// Lists come from the index, which all share: ten thousand bindings cannot be listed anew for
// every page. A row is shown only to whom the API server grants `list` on its kind in its
// namespace, by SelfSubjectAccessReview, asked again every half minute.
//
// # Live
//
// A page consists of fragments. While it is open, the script holds one stream of events, on
// which the server sends the fragments that differ from those that it sent last. Without the
// script the page is the same and stands still.
package dashboard
