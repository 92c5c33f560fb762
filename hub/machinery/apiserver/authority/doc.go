// Package authority describes how the certificate authority of an embedded API is exchanged without cutting off
// clusters that have joined. It is pure.
//
//	steady           overlap              switched             steady
//	old        ->    old, new       ->    new, old       ->    new
//	          begin                switch               finish
//
// All authorities in the bundle are trusted, and the first one signs. So the bundle is the whole state, and each step
// replaces one file.
package authority
