package vm

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"fairlead.dev/common/prose"
)

// Error is an error in a script, at compile time or at run time.
type Error struct {
	// Line of the script, from 1; 0 if it is not known.
	Line int
	// Message is Lua's message, without the line number.
	Message string
	// exceeded says that it used more than it may.
	exceeded bool
}

// ErrExceeded is matched by an Error of a script that used more time or memory than it may.
var ErrExceeded = errors.New("a script uses too much")

// Is says whether it is ErrExceeded.
func (e *Error) Is(target error) bool { return e.exceeded && target == ErrExceeded }

// Error implements error.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// position is how Lua begins a message about a line of ours.
var position = regexp.MustCompile(`^` + chunk + `:(\d+): `)

// newError returns what Lua says as an Error. The memory is that of the call, nil if there was
// none.
func newError(err error, m *memory) *Error {
	var (
		syntax  *parse.Error
		compile *lua.CompileError
		running *lua.ApiError
	)
	switch {
	case errors.As(err, &syntax):
		if syntax.Pos.Line == parse.EOF {
			return &Error{Message: "the script ends in the middle of a statement"}
		}
		return &Error{Line: syntax.Pos.Line, Message: fmt.Sprintf("%s near %q", syntax.Message, syntax.Token)}
	case errors.As(err, &compile):
		return &Error{Line: compile.Line, Message: compile.Message}
	case errors.As(err, &running):
		return said(running, m)
	default:
		return &Error{Message: err.Error()}
	}
}

// maxMessage is how long a message may be: it goes into conditions, events and logs. maxShown is
// how large a table may be that is shown in one, by the decoder's reckoning.
const (
	maxMessage = 1000
	maxShown   = 64 << 10
)

// shown returns any value that a script raised as a text: a table as JSON.
func shown(v lua.LValue, m *memory) string {
	t, ok := v.(*lua.LTable)
	if !ok {
		return lua.LVAsString(v)
	}
	from := &memory{}
	if m != nil {
		from.waiting = m.waiting
	}
	if content, err := newDecoder(from, maxShown).value(t); err == nil {
		if text, err := json.Marshal(content); err == nil && content != nil {
			return string(text)
		}
	}
	return "an error that is a table"
}

// said returns what was raised while a script ran.
func said(err *lua.ApiError, m *memory) *Error {
	var message string
	switch {
	case err.Type == lua.ApiErrorPanic:
		message, _, _ = strings.Cut(err.Error(), "\n")
	case err.Cause != nil:
		message = err.Cause.Error()
	default:
		message = shown(err.Object, m)
	}
	message = prose.Cut(message, maxMessage)
	out := &Error{Message: message}
	if m := position.FindStringSubmatch(message); m != nil {
		out.Line, _ = strconv.Atoi(m[1])
		out.Message = message[len(m[0]):]
	}
	if strings.HasSuffix(out.Message, "stack overflow") || strings.HasPrefix(out.Message, "registry overflow") {
		out.Message = "functions call each other too deeply, or hold too many values"
	}
	return out
}
