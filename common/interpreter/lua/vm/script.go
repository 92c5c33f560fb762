package vm

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// Limits of a call.
const (
	// maxTime is how long a call may have a processor. On the clock it may take until busyTime, as
	// the machine may be busy with others.
	maxTime  = time.Second
	busyTime = 10 * time.Second
	// maxSource is how long a script may be. It bounds how deep its syntax can nest.
	maxSource = 256 << 10
	// maxText is how long a text may be that a function of the string library takes or
	// that two texts make together.
	maxText = 1_000_000
	// maxCalls is how deep functions may call each other.
	maxCalls = 200
	// maxStack is how many values the calls of a script may hold at once.
	maxStack = 1 << 16
	// maxResult is how large what a script returns may be as an object, and maxPod a pod
	// template that it hands to a function of ours, by the decoder's reckoning. A table that
	// is in many places counts as often.
	maxResult = 32 << 20
	maxPod    = 4 << 20
)

// chunk is the name of every script in the messages of Lua; see newError.
const chunk = "line"

// Engine compiles scripts that may require the same modules.
type Engine struct {
	modules map[string]*lua.FunctionProto
	print   func(string)
	limiter *Limiter
}

// Options say what scripts find besides the libraries.
type Options struct {
	// Modules are scripts that return a table, by the name under which they are
	// required. They cannot be changed by who requires them.
	Modules map[string]string
	// Limiter is shared with the scripts of other engines; nil gives this engine one of its own.
	Limiter *Limiter
	// Print is given what scripts print; nil drops it. It is called by the goroutine
	// that called the script.
	Print func(line string)
}

// New returns an engine, or an error if a module does not compile.
func New(o Options) (*Engine, error) {
	e := &Engine{modules: map[string]*lua.FunctionProto{}, print: o.Print, limiter: o.Limiter}
	if e.limiter == nil {
		e.limiter = NewLimiter(0)
	}
	for name, source := range o.Modules {
		proto, err := compile(source)
		if err != nil {
			return nil, fmt.Errorf("compiling module %q: %w", name, err)
		}
		e.modules[name] = proto
	}
	return e, nil
}

// Script is a compiled script that defines one function which can be called. It is safe
// for use by many goroutines.
type Script struct {
	engine   *Engine
	proto    *lua.FunctionProto
	function string
	states   sync.Pool
}

// Compile makes a script of its source and checks that it defines the function. What is
// wrong with it is an *Error.
func (e *Engine) Compile(source, function string) (*Script, error) {
	proto, err := compile(source)
	if err != nil {
		return nil, err
	}
	s := &Script{engine: e, proto: proto, function: function}
	st, err := s.state()
	if err != nil {
		return nil, err
	}
	//nolint:forbidigo // It waits for scripts only, which end.
	if err := st.run(context.Background(), e.limiter, func() error {
		_, err := st.define(s)
		return err
	}); err != nil {
		return nil, err
	}
	s.states.Put(st)
	return s, nil
}

// compile parses, meters and compiles.
func compile(source string) (proto *lua.FunctionProto, err error) {
	if len(source) > maxSource {
		return nil, &Error{Message: fmt.Sprintf("the script is %d bytes long; at most %d are allowed", len(source), maxSource)}
	}
	defer func() {
		// The compiler is not made for what people may write.
		if r := recover(); r != nil {
			proto, err = nil, &Error{Message: fmt.Sprintf("the script cannot be compiled: %v", r)}
		}
	}()
	stmts, err := parse.Parse(strings.NewReader(source), chunk)
	if err != nil {
		return nil, newError(err, nil)
	}
	if stmts, err = metered(stmts); err != nil {
		return nil, err
	}
	if proto, err = lua.Compile(stmts, chunk); err != nil {
		return nil, newError(err, nil)
	}
	return proto, nil
}

// Call calls the function of the script with arguments that Kubernetes objects are made
// of (maps, lists, texts, numbers, booleans, nil), and has read take what it returned. It waits
// while too many others run. The context may shorten the second that a call may take. An error of
// the script is an *Error; those of read are returned as they are.
func (s *Script) Call(ctx context.Context, args []any, read func(*Results) error) error {
	st, err := s.state()
	if err != nil {
		return err
	}
	if err := st.run(ctx, s.engine.limiter, func() error {
		results, err := st.call(s, args)
		if err != nil {
			return err
		}
		return read(results)
	}); err != nil {
		return err // The state is not used again: it may have stopped anywhere.
	}
	st.clear()
	s.states.Put(st)
	return nil
}

// state returns one that is not in use.
func (s *Script) state() (*state, error) {
	if st, ok := s.states.Get().(*state); ok {
		return st, nil
	}
	return newState(s.engine)
}
