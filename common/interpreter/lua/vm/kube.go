package vm

import (
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/common/interpreter/podtemplate"
	"fairlead.dev/common/quantity"
)

// kube is the module for quantities and pod templates.
func (s *sandbox) kube() *lua.LTable {
	t := s.l.NewTable()
	s.function(t, "resourceAdd", s.resourceAdd)
	s.function(t, "getResourceQuantity", s.getResourceQuantity)
	s.function(t, "accuratePodRequirements", s.accuratePodRequirements)
	s.function(t, "getPodDependencies", s.getPodDependencies)
	return t
}

// amountAt returns the quantity at an index of the arguments; nil counts as 0.
func amountAt(l *lua.LState, at int) resource.Quantity {
	var text string
	switch v := l.Get(at).(type) {
	case *lua.LNilType:
		return resource.Quantity{}
	case lua.LString:
		text = string(v)
	case lua.LNumber:
		text = v.String()
	default:
		l.ArgError(at, fmt.Sprintf("a quantity is a text, not a %s", v.Type()))
	}
	q, err := quantity.Parse(text)
	if err != nil {
		l.ArgError(at, fmt.Sprintf("%q is no quantity: %s", text, err.Error()))
	}
	return q
}

// resourceAdd returns the sum of quantities, as text.
func (s *sandbox) resourceAdd(l *lua.LState) int {
	s.budget.charge(l, l.GetTop()*fieldCost)
	var sum resource.Quantity
	for i := 1; i <= l.GetTop(); i++ {
		sum.Add(amountAt(l, i))
	}
	l.Push(lua.LString(sum.String()))
	return 1
}

// getResourceQuantity returns a quantity as a number.
func (s *sandbox) getResourceQuantity(l *lua.LState) int {
	s.budget.charge(l, fieldCost)
	q := amountAt(l, 1)
	f := q.AsApproximateFloat64()
	if f < 0 || math.IsInf(f, 1) {
		l.ArgError(1, fmt.Sprintf("the quantity %s is negative or too large", q.String()))
	}
	l.Push(lua.LNumber(f))
	return 1
}

// podSpec reads the spec of the pod template at index 1.
func (s *sandbox) podSpec(l *lua.LState) *corev1.PodSpec {
	s.budget.slow(l)
	d := newDecoder(&memory{waiting: s.memory.waiting}, maxPod)
	d.share = true
	v, err := d.value(l.CheckTable(1))
	if err != nil {
		l.ArgError(1, err.Error())
	}
	s.budget.charge(l, maxPod-d.left)
	template, _ := v.(map[string]any) // nil for an empty table
	spec, ok := template["spec"].(map[string]any)
	if !ok && template["spec"] != nil {
		l.ArgError(1, "it is no pod template: its spec is no object")
	}
	pod, err := podtemplate.Read(spec)
	if err != nil {
		l.ArgError(1, fmt.Sprintf("it is no pod template: %s", err.Error()))
	}
	return pod
}

// accuratePodRequirements returns what one pod of a template requires, or nil.
func (s *sandbox) accuratePodRequirements(l *lua.LState) int {
	if l.GetTop() != 1 {
		l.RaiseError("accuratePodRequirements takes one pod template")
	}
	requirements := podtemplate.Requirements(s.podSpec(l))
	if requirements == nil {
		l.Push(lua.LNil)
		return 1
	}
	s.push(l, requirements)
	return 1
}

// getPodDependencies returns the objects that a pod of a template depends on.
func (s *sandbox) getPodDependencies(l *lua.LState) int {
	if l.GetTop() != 2 {
		l.RaiseError("getPodDependencies takes a pod template and a namespace")
	}
	namespace := "default"
	if l.Get(2) != lua.LNil {
		namespace = l.CheckString(2)
	}
	list := s.l.NewTable()
	for _, ref := range podtemplate.Dependencies(s.podSpec(l), namespace) {
		s.push(l, &ref)
		list.Append(l.Get(-1))
		l.Pop(1)
	}
	l.Push(list)
	return 1
}

// push returns an API object as a table.
func (s *sandbox) push(l *lua.LState, obj any) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		l.RaiseError("%s", err.Error())
	}
	e := newEncoder(l, nil)
	table, err := e.value(content)
	if err != nil {
		l.RaiseError("%s", err.Error())
	}
	s.budget.charge(l, e.cost)
	l.Push(table)
}
