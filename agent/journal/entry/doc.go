// Package entry turns what the journal keeps into the text of a file and back. It is pure.
//
// A file is one line that says what follows, and the content:
//
//	fairlead-journal 1 plain sha256=HEX length=N
//	{"work":{...}}
//
// The sum is that of the content as it lies in the file, so that a file that was torn is
// known before it is understood. With a key the content is sealed (AES-256-GCM), and the
// name of the file is bound to it: no file can be passed off as another. The line says then
// which key it was, by a fingerprint:
//
//	fairlead-journal 1 aes-256-gcm sha256=HEX length=N key=HEX
package entry
