// Package authority says how the certificate authority of an embedded API is exchanged while
// clusters are joined. It only thinks.
//
//	steady           overlap              switched             steady
//	old        ->    old, new       ->    new, old       ->    new
//	          begin                switch               finish
//
// All authorities in the bundle are trusted, and the first signs. So the bundle says all there is
// to know, and each step is one file that is replaced by another.
package authority
