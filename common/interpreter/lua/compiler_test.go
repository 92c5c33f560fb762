package lua

import (
	"testing"

	. "github.com/onsi/gomega"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter"
)

func TestCheckNamesFunctionAndLine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, err := NewCompiler(Options{})
	g.Expect(err).NotTo(HaveOccurred())
	bad := customization("a", configv1alpha1.CustomizationRules{
		HealthInterpretation: script("\n\nfunction InterpretHealth( return end"), Retention: script("x = 1"), ReplicaRevision: script(reviseScript),
	})
	problems := c.Check(&bad, nil)
	g.Expect(problems).To(HaveLen(2))
	g.Expect(problems[0].Rule.Function).To(Equal("Retain"))
	g.Expect(problems[0].Message).To(ContainSubstring("no function Retain"))
	g.Expect(problems[1].Rule.Function).To(Equal("InterpretHealth"))
	g.Expect(problems[1].Line).To(Equal(3))
}

func TestOnlyWhatChangedIsCompiledAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, err := NewCompiler(Options{})
	g.Expect(err).NotTo(HaveOccurred())
	a, b := customization("a", everyRule()), customization("b", configv1alpha1.CustomizationRules{Retention: script(retainScript)})
	before := c.Compile([]configv1alpha1.ResourceInterpreterCustomization{a})
	a.Spec.Customizations.HealthInterpretation = script("function InterpretHealth() return true end")
	after := c.Compile([]configv1alpha1.ResourceInterpreterCustomization{a, b})
	for at := range before.answers {
		same := before.answers[at][0].script == after.answers[at][0].script
		g.Expect(same).To(Equal(at.op != interpreter.InterpretHealth), string(at.op))
	}
	g.Expect(c.last).To(HaveLen(8), "what nobody needs is forgotten")
}
