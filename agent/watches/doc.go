// Package watches knows which kinds of the member cannot be watched: because the agent lost the rights to list or
// watch them, because the definition of the kind was removed, or because its conversion webhook or aggregated API
// server fails. An informer does not report any of that; it goes on serving what it saw last, however old.
//
// Reads: the member's answers to the informers of its objects, and whether the member is ready.
// Writes: nothing.
// Owns: the verdict whether an informer reflects the member.
// Invariant: a single refusal does not count, since an API server that is starting may briefly refuse what it allows
// afterwards. Failures count after a minute, and only while the member is ready: a member that is not ready is
// reported in its Cluster. A watch that works again counts only once its informer has processed all objects, which
// takes a moment. A stream of initial objects that does not end in time is stopped and the objects are listed
// instead; it counts as a failure that began then.
// Next: package execution, which then reads the objects of the kind one by one, and says so in the Works.
package watches
