package cli

import (
	"encoding/json"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/people/view/applications"
)

// steering is text with which a lying cluster could repaint an operator's terminal: escape sequences, a bell, a
// carriage return, forged lines, and bidirectional control characters.
const steering = "denied\x1b[2J\x1b]0;pwned\x07\u009b2Jby\rHealthy\n└─ [edge-3] Deployment default/web  Healthy\u202egnp.exe\u2066"

// steered puts that text wherever edge-3 can report something, and runs every command that shows it.
func (l *lookout) steered(g *WithT) {
	ctx := l.t.Context()
	b := &workv1alpha2.ResourceBinding{}
	g.Expect(l.c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "web-deployment"}, b)).To(Succeed())
	c := &clusterv1alpha1.Cluster{}
	g.Expect(l.c.Get(ctx, client.ObjectKey{Name: "edge-3"}, c)).To(Succeed())
	var works workv1alpha1.WorkList
	g.Expect(l.c.List(ctx, &works, client.InNamespace("karmada-es-edge-3"))).To(Succeed())
	g.Expect(works.Items).To(HaveLen(1))
	e := &corev1.Event{}
	g.Expect(l.c.Get(ctx, client.ObjectKey{Namespace: "karmada-es-edge-3", Name: "e-edge-3"}, e)).To(Succeed())
	said := e.Message
	say := func(why, condition, event string) {
		b.Status.AggregatedStatus[2].AppliedMessage = why
		works.Items[0].Status.Conditions[0].Message = why
		c.Status.Conditions[0].Message = condition
		e.Message = event
		g.Expect(l.c.Status().Update(ctx, b)).To(Succeed())
		g.Expect(l.c.Status().Update(ctx, c)).To(Succeed())
		g.Expect(l.c.Status().Update(ctx, &works.Items[0])).To(Succeed())
		g.Expect(l.c.Update(ctx, e)).To(Succeed())
	}
	why, condition := b.Status.AggregatedStatus[2].AppliedMessage, c.Status.Conditions[0].Message
	defer say(why, condition, said)
	say(steering, steering, steering)

	for _, args := range [][]string{
		{"get"},
		{"get", "-o", "wide"},
		{"get", "deployment/web"},
		{"tree", "deployment/web"},
		{"explain", "deployment/web"},
		{"events", "-A"},
		{"events", "--cluster", "edge-3"},
		{"clusters"},
		{"clusters", "-o", "wide"},
		{"clusters", "describe", "edge-3"},
		{"top"},
		{"wait", "deployment/web", "--timeout", "1ms"},
		{"diff", "deployment/web"},
		{"get", "deployment/web", "-o", "json"},
		{"get", steering},
		{"explain", "deployment/" + steering},
	} {
		ex := execution{env: l.env}
		ex.run(ctx, args...)
		out := ex.out.String() + ex.err.String()
		g.Expect(out).NotTo(BeEmpty(), "%q", args)
		g.Expect(out).NotTo(ContainSubstring("\n└─ [edge-3] Deployment default/web  Healthy"), "%q", args)
		for _, r := range "\x1b\x07\r\u009b\u202e\u2066" {
			g.Expect(out).NotTo(ContainSubstring(string(r)), "%q lets %q through", args, r)
		}
	}
	out, _ := l.run(ExitDone, "tree", "deployment/web")
	g.Expect(out).To(ContainSubstring(`denied\x1b[2J\x1b]0;pwned\x07\u009b2Jby\x0dHealthy └─`), "it is written out")

	out, _ = l.run(ExitDone, "get", "deployment/web", "-o", "json")
	var app applications.Application
	g.Expect(json.Unmarshal([]byte(out), &app)).To(Succeed())
	g.Expect(app.Places[2].Why).To(Equal(steering), "programs get it exactly")
}
