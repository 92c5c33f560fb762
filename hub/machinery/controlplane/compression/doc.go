// Package compression has answers of kube-apiserver compressed for clients that prefer that, watches among them, which
// kube-apiserver itself never compresses. It is for agents on metered lines: whatever they report of a Work comes back to them
// with all of that Work.
//
// Who says nothing, or no more than that it knows gzip, as clients written in Go do by themselves, is answered as before. Who
// wants it says that it likes gzip better than nothing, in the words of HTTP (RFC 9110):
//
//	Accept-Encoding: gzip, identity;q=0.5
//
// Each event of a watch is compressed and sent at once. A compressor takes more than a megabyte, so none stays with a watch: the
// few that there are take turns, and the watch keeps the last 32 KiB that it sent (its history), from which the next compressor
// goes on. So what was just sent costs next to nothing when it is sent again. A history goes when nothing but bookmarks was
// sent for a while; how many there are is bounded, for each user and for all, and a watch that gets none is compressed event by
// event.
//
// Who controls a part of what is compressed and sees how long it becomes can guess at the rest (CRIME, BREACH). So a Secret, alone
// or in a Work, is compressed by itself on a watch: nothing before it and nothing after it is. Another answer with a Secret in it,
// such as a page of Works, is not compressed here; kube-apiserver itself compresses those of more than 128 KiB for all clients.
package compression
