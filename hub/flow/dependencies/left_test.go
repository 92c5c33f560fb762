package dependencies

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/builder"
)

func TestAClusterThatIsGoneIsDropped(t *testing.T) {
	t.Parallel()
	many := make([]string, mostDropped+4)
	for i := range many {
		many[i] = fmt.Sprintf("edge-%02d", i)
	}
	lost := errors.New("the connection was lost")
	for name, tt := range map[string]struct {
		preserved, cached, live, want []string
		fails                         error
		// reads is how many Clusters are read live.
		reads int
	}{
		"nothing is to stay":                {},
		"all are there":                     {preserved: []string{"a", "b"}, cached: []string{"a", "b"}, live: []string{"a", "b"}, want: []string{"a", "b"}},
		"one is gone":                       {preserved: []string{"a", "b", "c"}, cached: []string{"a", "c"}, live: []string{"a", "c"}, want: []string{"a", "c"}, reads: 1},
		"the cache does not show it yet":    {preserved: []string{"a", "b"}, cached: []string{"b"}, live: []string{"a", "b"}, want: []string{"a", "b"}, reads: 1},
		"the cache still shows it":          {preserved: []string{"a"}, cached: []string{"a"}, want: []string{"a"}},
		"nobody knows":                      {preserved: []string{"a"}, fails: lost, want: []string{"a"}, reads: 1},
		"more are gone than are read about": {preserved: many, want: many[mostDropped:], reads: mostDropped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scheme, err := kube.NewScheme()
			g.Expect(err).NotTo(HaveOccurred())
			with := func(names []string) *fake.ClientBuilder {
				out := fake.NewClientBuilder().WithScheme(scheme)
				for _, n := range names {
					out.WithObjects(builder.MakeCluster(n).Obj())
				}
				return out
			}
			reads := 0
			live := with(tt.live).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					if reads++; tt.fails != nil {
						return tt.fails
					}
					return c.Get(ctx, key, obj, opts...)
				},
			}).Build()
			r := &Reconciler{hubClient: with(tt.cached).Build(), liveReader: live}
			b := &workv1alpha2.ResourceBinding{}
			b.Spec.PreservedIn = tt.preserved
			err = r.dropGone(t.Context(), b)
			if tt.fails == nil {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(tt.fails))
			}
			g.Expect(b.Spec.PreservedIn).To(Equal(tt.want))
			g.Expect(reads).To(Equal(tt.reads))
		})
	}
}
