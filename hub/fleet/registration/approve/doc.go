// Package approve decides whether a member may have the certificate that it asks for.
// It only thinks. Whoever is refused is told what to do about it.
//
// There are two ways to ask. A member that joins presents a token, which names the one
// cluster that may use it, once; it says by its id which member it is. An agent that
// has joined asks for another certificate of the same name, with the one that it has.
package approve
