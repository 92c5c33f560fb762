package vm

import (
	"context"
	"fmt"
	"runtime"

	lua "github.com/yuin/gopher-lua"
)

// state is a Lua state that runs one call at a time.
type state struct {
	l       *lua.LState
	budget  *budget
	sandbox *sandbox
	meters  []lua.LValue
}

func newState(e *Engine) (st *state, err error) {
	st = &state{
		l: lua.NewState(lua.Options{
			SkipOpenLibs: true, CallStackSize: maxCalls, MinimizeStackMemory: true,
			RegistrySize: 256, RegistryGrowStep: 256, RegistryMaxSize: maxStack,
		}),
		budget: &budget{},
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("preparing Lua: %v", r)
		}
	}()
	st.sandbox = newSandbox(st.l, st.budget, e)
	st.meters = st.sandbox.meters()
	return st, nil
}

// run runs the script, by calling f, within the limits. An exhausted budget is an error even if the script caught it.
func (st *state) run(ctx context.Context, l *Limiter, f func() error) error {
	runtime.LockOSThread() // the thread's CPU time is measured
	defer runtime.UnlockOSThread()
	if err := st.budget.renew(ctx, l); err != nil {
		return err
	}
	defer st.budget.end()
	st.l.SetContext(st.budget)
	return f()
}

// define runs the script, which defines its function, and returns the function.
func (st *state) define(s *Script) (*lua.LFunction, error) {
	f := st.l.NewFunctionFromProto(s.proto)
	f.Env = st.sandbox.environment()
	st.l.Push(f)
	for _, m := range st.meters {
		st.l.Push(m)
	}
	if err := st.l.PCall(len(st.meters), 0, nil); err != nil {
		return nil, st.failed(err, nil)
	}
	if err := st.budget.Err(); err != nil {
		return nil, err
	}
	defined, ok := f.Env.RawGetString(s.function).(*lua.LFunction)
	if !ok {
		return nil, &Error{Message: fmt.Sprintf("the script defines no function %s", s.function)}
	}
	return defined, nil
}

// call calls the function of a script.
func (st *state) call(s *Script, args []any) (*Results, error) {
	f, err := st.define(s)
	if err != nil {
		return nil, err
	}
	results := &Results{memory: memory{args: args, lazy: st.sandbox.lazy}}
	st.sandbox.memory = &results.memory
	st.l.Push(f)
	for _, arg := range args {
		v, err := newEncoder(st.l, &results.memory).value(arg)
		if err != nil {
			return nil, err
		}
		st.l.Push(v)
	}
	if err := st.l.PCall(len(args), lua.MultRet, nil); err != nil {
		return nil, st.failed(err, &results.memory)
	}
	if err := st.budget.Err(); err != nil {
		return nil, err
	}
	for i := 1; i <= st.l.GetTop(); i++ {
		results.values = append(results.values, st.l.Get(i))
	}
	return results, nil
}

// failed converts the error of a call. The line at which a script was stopped for its time, or because nobody waits
// for it, differs each time, so it is left out.
func (st *state) failed(err error, m *memory) *Error {
	out := newError(err, m)
	if st.budget.exhausted == "" {
		return out
	}
	line := 0
	if st.budget.bytes < 0 {
		line = out.Line
	}
	return &Error{Line: line, Message: st.budget.exhausted, exceeded: st.budget.exceeded}
}

// clear drops the results of a call.
func (st *state) clear() {
	st.l.SetTop(0)
	st.sandbox.memory = &memory{}
}
