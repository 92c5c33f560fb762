// Package watches knows which kinds of the member cannot be watched: the rights to list or watch were taken from the agent, the definition of the
// kind was removed, or what serves it fails, as a conversion webhook or an API server of its own may. An informer tells nobody of that, and goes on
// to show what it saw last, of whatever age.
//
// Reads: what the member answers to the informers of its objects, and whether it is ready.
// Writes: nothing.
// Owns: the word whether an informer shows the member as it is.
// Invariant: one refused answer is not believed, since an API server that starts refuses for a moment what it gives afterwards; what fails counts
// after a minute, and only of a member that is ready: of one that is not, the Cluster tells. A watch that was let in again is believed once its
// informer shows all objects, which it does some time after it was shown them.
// Next: package execution, which then reads the objects of the kind one by one, and says so in the Works.
package watches
