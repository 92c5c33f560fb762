package compression

import (
	"bytes"
	"compress/flate"
	"io"
	"runtime"
	"sync"
)

// window is how far back deflate looks.
const window = 32 << 10

// compressors compress for whoever comes, a few at a time. They are safe for use by many goroutines.
type compressors struct {
	// turns has room for as many as may work at a time.
	turns chan struct{}
	idle  sync.Pool
}

func newCompressors() *compressors {
	return &compressors{
		turns: make(chan struct{}, runtime.GOMAXPROCS(0)),
		idle:  sync.Pool{New: func() any { return newCompressor() }},
	}
}

// compress appends to out what goes on a stream of deflate, up to a byte's end, to which history was sent last.
func (c *compressors) compress(out *bytes.Buffer, history, p []byte) {
	c.turns <- struct{}{} // nobody waits for a network in here
	defer func() { <-c.turns }()
	one := c.idle.Get().(*compressor) //nolint:errcheck,forcetypeassert // The pool has nothing else.
	one.compress(out, history, p)
	c.idle.Put(one)
}

// compressor compresses one piece after another, of any stream.
type compressor struct {
	to    io.Writer
	flate *flate.Writer
}

func newCompressor() *compressor {
	c := &compressor{}
	c.flate, _ = flate.NewWriter(c, level) // it fails for levels that there are not
	return c
}

// Write implements io.Writer, for flate.
func (c *compressor) Write(p []byte) (int, error) { return c.to.Write(p) }

// compress has the window filled with the history first, which costs its time once more, and takes no memory while nothing is
// sent. Nothing that it writes to fails.
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
