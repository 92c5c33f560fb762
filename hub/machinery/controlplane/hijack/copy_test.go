package hijack

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand"
	"testing"

	. "github.com/onsi/gomega"
)

// script returns its pieces, at most one per read, and records the sizes of the buffers.
type script struct {
	pieces [][]byte
	end    error
	asked  []int
}

func (s *script) Read(p []byte) (int, error) {
	s.asked = append(s.asked, len(p))
	if len(s.pieces) == 0 {
		return 0, s.end
	}
	n := copy(p, s.pieces[0])
	if s.pieces[0] = s.pieces[0][n:]; len(s.pieces[0]) == 0 {
		s.pieces = s.pieces[1:]
	}
	return n, nil
}

func TestALargeBufferIsHeldOnlyWhileMuchPasses(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ping, much := make([]byte, 17), make([]byte, 16<<10)
	from := &script{pieces: [][]byte{ping, ping, much, much, ping, ping}, end: io.EOF}
	var to bytes.Buffer
	n, err := copyAll(&to, from)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(n).To(BeEquivalentTo(4*17 + 2*16<<10))
	g.Expect(to.Len()).To(BeEquivalentTo(n))
	g.Expect(from.asked).To(Equal([]int{
		waitingSize, waitingSize, waitingSize, // the third one is filled
		passingSize, passingSize, passingSize, // the rest, the next piece, and a ping, after which it waits
		waitingSize, waitingSize,
	}))
}

func TestBytesPassAsTheyCame(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dice := rand.New(rand.NewSource(1))
	want := sha256.New()
	from := &script{end: io.EOF}
	for range 1000 {
		piece := make([]byte, 1+dice.Intn(3*waitingSize))
		if dice.Intn(4) == 0 {
			piece = make([]byte, waitingSize)
		}
		_, _ = dice.Read(piece)
		_, _ = want.Write(piece)
		from.pieces = append(from.pieces, piece)
	}
	got := sha256.New()
	_, err := copyAll(got, from)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.Sum(nil)).To(Equal(want.Sum(nil)))
}

// full accepts some bytes and then fails.
type full struct {
	room int
	err  error
}

func (f *full) Write(p []byte) (int, error) {
	n := min(f.room, len(p))
	f.room -= n
	if n < len(p) {
		return n, f.err
	}
	return n, nil
}

func TestCopyingEndsWithEitherSide(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	lost := errors.New("lost")
	_, err := copyAll(io.Discard, &script{pieces: [][]byte{make([]byte, 4096)}, end: lost})
	g.Expect(err).To(MatchError(lost))
	for _, room := range []int{10, 600} { // while it is idle, and while it transfers much
		n, err := copyAll(&full{room: room, err: lost}, &script{pieces: [][]byte{make([]byte, 4096)}, end: io.EOF})
		g.Expect(err).To(MatchError(lost))
		g.Expect(n).To(BeEquivalentTo(room))
		_, err = copyAll(&full{room: room}, &script{pieces: [][]byte{make([]byte, 4096)}, end: io.EOF})
		g.Expect(err).To(MatchError(io.ErrShortWrite))
	}
}
