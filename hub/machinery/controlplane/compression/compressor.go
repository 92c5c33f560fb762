package compression

import (
	"bytes"
	"compress/flate"
	"io"
	"runtime"
	"sync"
)

// window is the window of deflate.
const window = 32 << 10

// compressors are a bounded number of shared compressors. They are safe for concurrent use.
type compressors struct {
	// turns limits how many work at a time.
	turns chan struct{}
	idle  sync.Pool
}

func newCompressors() *compressors {
	return &compressors{
		turns: make(chan struct{}, runtime.GOMAXPROCS(0)),
		idle:  sync.Pool{New: func() any { return newCompressor() }},
	}
}

// compress appends the next part of a deflate stream to out, aligned to a byte. History is what was sent last on the
// stream.
func (c *compressors) compress(out *bytes.Buffer, history, p []byte) {
	c.turns <- struct{}{} // nothing in here waits for a network
	defer func() { <-c.turns }()
	one := c.idle.Get().(*compressor) //nolint:errcheck,forcetypeassert // The pool contains nothing else.
	one.compress(out, history, p)
	c.idle.Put(one)
}

// compressor compresses parts of any streams, one at a time.
type compressor struct {
	to    io.Writer
	flate *flate.Writer
}

func newCompressor() *compressor {
	c := &compressor{}
	c.flate, _ = flate.NewWriter(c, level) // fails only for invalid levels
	return c
}

// Write implements io.Writer, for flate.
func (c *compressor) Write(p []byte) (int, error) { return c.to.Write(p) }

// compress first fills the window with the history. That costs the time to compress it again, but no memory is held
// while nothing is sent. Its writers never fail.
func (c *compressor) compress(out *bytes.Buffer, history, p []byte) {
	c.to = io.Discard
	c.flate.Reset(c)
	if len(history) > 0 {
		_, _ = c.flate.Write(history)
		_ = c.flate.Flush()
	}
	c.to = out
	_, _ = c.flate.Write(p)
	_ = c.flate.Flush()
	c.to = io.Discard
}
