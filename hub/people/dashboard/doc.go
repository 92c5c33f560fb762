// Package dashboard is the operator's web page: the state of everything on the hub, rendered on the server from
// embedded templates, with a small script that replaces what changed.
//
//	Reads:     Clusters, bindings, policies and the agents' leases from the hub's cache, into an index of
//	           short rows; everything else live, with the rights of the user, as well as pods and logs of
//	           members on request (people/pods).
//	Writes:    what a user requests and confirms, with that user's rights.
//	Owns:      the index and the history of the last hour, in memory only. Sessions are in people/auth, open
//	           streams in people/live.
//	Invariant: users only see rows that the API server would list for them, and nothing is written with the
//	           hub's own rights.
//	Next:      nothing; people read it.
//
// # Rights
//
// Users sign in with a token that the hub's API accepts, such as an ID token of an issuer, or with a certificate of its
// client authority. Single objects are read, and all writes are made, as that user: with the token itself or, since a
// certificate cannot be passed on, by impersonating exactly the user and the groups in the certificate, after TLS has
// verified it. Tokens are kept in memory for the time of the session, and are never stored or sent elsewhere.
//
// A terminal in a pod (people/terminal) is opened with a ticket. A ticket works once and for a short time, only for the
// session that requested it with a form, and only from pages of this origin. Logs and terminals end with the session,
// and the session ends with the credential, which is checked against the API every minute while any of them is open.
//
// Lists come from the index, which all users share: ten thousand bindings cannot be listed again for every page. A row
// is shown only to users to whom the API server grants `list` on its kind in its namespace. That is checked by
// SelfSubjectAccessReview every half minute.
//
// # Live updates
//
// A page consists of fragments. While it is open, the script keeps one stream of events open, on which the server sends
// the fragments that changed. Without the script the page looks the same, but does not update.
package dashboard
