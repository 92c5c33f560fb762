// Package watches knows which kinds of the member cannot be watched, because the member refuses it: the rights to list or watch were taken from the
// agent, or the definition of the kind was removed. An informer tells nobody of that, and goes on to show what it saw last, of whatever age.
//
// Reads: what the member answers to the informers of its objects.
// Writes: nothing.
// Owns: the word whether an informer shows the member as it is.
// Invariant: one refused answer is not believed, since an API server that starts refuses for a moment what it gives afterwards; a watch that was
// let in again is believed once it has shown all objects.
// Next: package execution, which then reads the objects of the kind one by one, and says so in the Works.
package watches
