package selector_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/common/selector"
)

func TestToleration(t *testing.T) {
	t.Parallel()
	taint := &corev1.Taint{Key: "site", Value: "ship", Effect: corev1.TaintEffectNoExecute}
	tests := map[string]struct {
		of   corev1.Toleration
		want bool
	}{
		"key and value":           {corev1.Toleration{Key: "site", Value: "ship"}, true},
		"another value":           {corev1.Toleration{Key: "site", Value: "shop"}, false},
		"another key":             {corev1.Toleration{Key: "else", Operator: corev1.TolerationOpExists}, false},
		"any value":               {corev1.Toleration{Key: "site", Operator: corev1.TolerationOpExists}, true},
		"anything":                {corev1.Toleration{Operator: corev1.TolerationOpExists}, true},
		"no key means not any":    {corev1.Toleration{Value: "ship"}, false},
		"its effect":              {corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}, true},
		"another effect":          {corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}, false},
		"an operator of tomorrow": {corev1.Toleration{Key: "site", Value: "ship", Operator: "Lt"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			list := []corev1.Toleration{{Key: "other"}, tt.of, {Key: "site", Value: "none"}}
			if got := selector.Toleration(list, taint); tt.want {
				g.Expect(got).To(BeIdenticalTo(&list[1]))
			} else {
				g.Expect(got).To(BeNil())
			}
		})
	}
}
