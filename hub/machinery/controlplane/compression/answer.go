package compression

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"mime"
	"net/http"
	"slices"
	"sync"
)

const (
	// level is the lowest level that finds all repetitions of what was sent before, even in data that hardly compresses
	// otherwise.
	level = 2
	// worthwhile is the least size in bytes of a response that is compressed, watches aside.
	worthwhile = 256
	// keepUpTo bounds the size of buffers that are kept for reuse.
	keepUpTo = 256 << 10

	contentEncoding = "Content-Encoding"
	contentLength   = "Content-Length"
)

var (
	// head is the header of a gzip file without a name and a time.
	head = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff} //nolint:gochecknoglobals // It is constant.
	// last is the last block of a deflate stream, which is empty.
	last = []byte{3, 0} //nolint:gochecknoglobals // It is constant.
	// secretKind occurs in every encoding of a Secret by the server.
	secretKind = []byte(`"kind":"Secret"`) //nolint:gochecknoglobals // It is constant.
	// buffers hold what waits for the network.
	buffers = sync.Pool{New: func() any { return &bytes.Buffer{} }} //nolint:gochecknoglobals // A pool must be shared.
)

// answer is a response that may be compressed. It is written by one goroutine.
type answer struct {
	http.ResponseWriter

	compressors *compressors
	watch       bool
	history     history

	// status is the status code; 0 if it was not set. Sent says that the header was sent.
	status int
	sent   bool
	// compressed says that the body is compressed, begun that the gzip header was sent, and json that events can be
	// distinguished.
	compressed, begun, json bool
	sum, size               uint32
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter. Whether to compress is decided when the body comes.
func (a *answer) WriteHeader(status int) {
	switch {
	case status < http.StatusOK:
		a.ResponseWriter.WriteHeader(status)
	case a.status == 0:
		a.status = status
	}
}

// Flush implements http.Flusher.
func (a *answer) Flush() {
	a.sendHeader(a.watch)
	_ = http.NewResponseController(a.ResponseWriter).Flush() // the wrapper already tells callers whether flushing is supported
}

// Write implements http.ResponseWriter. For a watch it is called once per event.
func (a *answer) Write(p []byte) (int, error) {
	a.sendHeader(a.watch || len(p) >= worthwhile && !bytes.Contains(p, secretKind))
	if !a.compressed {
		return a.ResponseWriter.Write(p)
	}
	out := buffers.Get().(*bytes.Buffer) //nolint:errcheck,forcetypeassert // The pool contains nothing else.
	defer func() {
		if out.Cap() <= keepUpTo {
			out.Reset()
			buffers.Put(out)
		}
	}()
	a.begin(out)
	a.sum = crc32.Update(a.sum, crc32.IEEETable, p)
	a.size += uint32(len(p)) //nolint:gosec // It counts modulo 2^32, as gzip does.
	if a.watch && a.json {
		a.history.next(p, bytes.Contains(p, secretKind), func(history []byte) { a.compressors.compress(out, history, p) })
	} else {
		a.compressors.compress(out, nil, p)
	}
	if _, err := a.ResponseWriter.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// sendHeader sends the header, unless it was sent, and decides whether to compress.
func (a *answer) sendHeader(worth bool) {
	if a.sent {
		return
	}
	a.sent = true
	if a.status == 0 {
		a.status = http.StatusOK
	}
	header := a.Header()
	if a.compressed = worth && allowed(a.status, header); a.compressed {
		mediaType, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
		a.json = mediaType == "application/json"
		header.Set(contentEncoding, gzipCoding)
		header.Del(contentLength)
		if !slices.Contains(header.Values("Vary"), "Accept-Encoding") {
			header.Add("Vary", "Accept-Encoding")
		}
	}
	a.ResponseWriter.WriteHeader(a.status)
}

// allowed says whether the encoding of a response may be changed.
func allowed(status int, header http.Header) bool {
	switch status {
	case http.StatusNoContent, http.StatusNotModified, http.StatusPartialContent:
		return false
	}
	return header.Get(contentEncoding) == "" && header.Get("ETag") == ""
}

func (a *answer) begin(out *bytes.Buffer) {
	if !a.begun {
		a.begun = true
		out.Write(head)
	}
}

// finish ends the response, so that the client knows that it is complete.
func (a *answer) finish() {
	if !a.sent {
		if a.status != 0 {
			a.sendHeader(false)
		}
		return
	}
	if !a.compressed {
		return
	}
	var out bytes.Buffer
	a.begin(&out)
	out.Write(last)
	_ = binary.Write(&out, binary.LittleEndian, [2]uint32{a.sum, a.size})
	_, _ = a.ResponseWriter.Write(out.Bytes()) // the client may be gone
}
