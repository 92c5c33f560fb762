// Package approve decides whether a member gets the certificate that it requests. It is pure. A refusal says what the
// member's operator can do about it.
//
// There are two kinds of request. A joining member presents a token, which names the one cluster that may use it, once;
// the request carries the member's id. An agent that has joined presents its current certificate, and requests the next
// one for the same name.
package approve
