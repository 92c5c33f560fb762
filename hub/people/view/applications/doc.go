// Package applications says how an application fares: where a template is to be, where it is, and
// what is wrong there. It is pure: a binding and what is known of the clusters in, what is
// shown out.
package applications
