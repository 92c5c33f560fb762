package lua

import (
	"context"
	"fmt"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
)

// TestManyAskAtOnce has sixteen goroutines call every operation on the same object while the rules are compiled again
// and again.
func TestManyAskAtOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, err := NewCompiler(Options{})
	g.Expect(err).NotTo(HaveOccurred())
	rules := []configv1alpha1.ResourceInterpreterCustomization{customization("a", everyRule())}
	obj := deployed(t)
	before := obj.DeepCopy()
	var all sync.WaitGroup
	for worker := range 16 {
		all.Go(func() {
			for turn := range 20 {
				i := c.Compile(rules)
				for _, op := range interpreter.Operations() {
					if _, err := questionTo(op, obj).Ask(context.Background(), i); err != nil {
						t.Errorf("%s: %v", op, err)
					}
				}
				n := int32(worker*100 + turn)
				revised, err := i.ReviseReplicas(context.Background(), obj, n)
				if err != nil || fmt.Sprint(revised.Object["spec"].(map[string]any)["replicas"]) != fmt.Sprint(n) { //nolint:errcheck,forcetypeassert // It is.
					t.Errorf("revised to %d: %v, %v", n, revised, err)
				}
				if health, err := i.Health(context.Background(), obj); health != workv1alpha1.Healthy || err != nil {
					t.Errorf("health: %v, %v", health, err)
				}
			}
		})
	}
	all.Wait()
	g.Expect(obj).To(Equal(before))
}
