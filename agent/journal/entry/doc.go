// Package entry encodes the journal's values as files and decodes them. It is pure.
//
// A file is one header line and the content:
//
//	fairlead-journal 1 plain sha256=HEX length=N
//	{"work":{...}}
//
// The checksum covers the content as it is in the file, so that a torn file is detected before it is decoded. With a
// key the content is sealed (AES-256-GCM) with the file's name as additional data, so that no file can be passed off
// as another. The header then ends with a fingerprint of the key:
//
//	fairlead-journal 1 aes-256-gcm sha256=HEX length=N key=HEX
package entry
