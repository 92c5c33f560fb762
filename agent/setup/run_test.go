package setup

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"fairlead.dev/agent/presence"
)

func TestARestorationIsFoundWhateverElseFailed(t *testing.T) {
	t.Parallel()
	restored := &presence.RestoredError{Whose: "member", Left: "9", Found: "7"}
	late := fmt.Errorf("failed waiting for all runnables to end: %w", context.DeadlineExceeded)
	for name, tc := range map[string]struct {
		err   error
		found bool
	}{
		"nothing":               {nil, false},
		"alone":                 {fmt.Errorf("running: %w", restored), true},
		"with a slow stop":      {fmt.Errorf("running: %w", utilerrors.NewAggregate([]error{restored, late})), true},
		"wrapped among others":  {utilerrors.NewAggregate([]error{late, utilerrors.NewAggregate([]error{fmt.Errorf("lease: %w", restored)})}), true},
		"joined with the other": {errors.Join(late, restored), true},
		"only a slow stop":      {utilerrors.NewAggregate([]error{late, late}), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := find[*presence.RestoredError](tc.err)
			if tc.found {
				NewWithT(t).Expect(got).To(BeIdenticalTo(restored))
			} else {
				NewWithT(t).Expect(got).To(BeNil())
			}
		})
	}
}
