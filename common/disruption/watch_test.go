package disruption

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestAWatchBeganWhenItWasAskedFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var w Watch
	g.Expect(w.Began(noon)).To(Equal(noon))
	g.Expect(w.Began(noon.Add(time.Hour))).To(Equal(noon))
}
