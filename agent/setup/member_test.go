package setup

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// TestWhichSilenceOfAnAPIServerDoesNotMatter checks that a broken metrics server is ignored, since it hides no
// objects that could be lost. Another aggregated API server may.
func TestWhichSilenceOfAnAPIServerDoesNotMatter(t *testing.T) {
	t.Parallel()
	failed := func(groups ...string) error {
		out := &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{}}
		for _, group := range groups {
			out.Groups[schema.GroupVersion{Group: group, Version: "v1beta1"}] = errors.New("stale")
		}
		return fmt.Errorf("asking: %w", out)
	}
	tests := map[string]struct {
		err  error
		want bool
	}{
		"of what is measured":          {err: failed("metrics.k8s.io", "custom.metrics.k8s.io"), want: true},
		"not of others":                {err: failed("metrics.k8s.io", "projectcalico.org")},
		"not of what only sounds so":   {err: failed("mymetrics.k8s.io")},
		"not if nobody answers at all": {err: errors.New("connection refused")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(ofMeasures(tc.err)).To(Equal(tc.want))
		})
	}
}
