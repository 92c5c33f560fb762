package vm

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// Names under which a script's code finds its budget. Scripts cannot write them, since they are no Lua identifiers.
const (
	blockName  = "\x00block"
	concatName = "\x00concat"
	keyName    = "\x00key"
	manyName   = "\x00many"
)

// Costs in bytes, approximately those of gopher-lua's values. A table that starts empty reserves space for many
// fields with its first one.
const (
	emptyCost    = 1024
	tableCost    = 256
	fieldCost    = 64
	valueCost    = 16
	functionCost = 256
)

// Limits at compile time.
const (
	// maxDepth bounds the nesting of a script's syntax.
	maxDepth = 500
	// maxLookups bounds the constants that the compiler compares: for each use of one, it searches all constants of
	// the function so far.
	maxLookups = 20_000_000
)

// metered returns the statements with metering added, since gopher-lua bounds time but not memory: a block begins
// with a charge for what its statements allocate, if they allocate anything; texts are joined by a function that
// counts them; and the index of an assignment is checked first, as are lists of values of unknown length.
func metered(stmts []ast.Stmt) ([]ast.Stmt, error) {
	m := &meter{constants: map[string]bool{}}
	body := m.block(stmts, 0, 0)
	switch {
	case m.tooDeep != 0:
		return nil, &Error{Line: m.tooDeep, Message: "the script nests too deeply"}
	case m.lookups > maxLookups:
		return nil, &Error{Message: "the script has too many different names, texts and numbers in one function"}
	}
	names := &ast.LocalAssignStmt{
		Names: []string{blockName, concatName, keyName, manyName}, Exprs: []ast.Expr{&ast.Comma3Expr{}},
	}
	return append([]ast.Stmt{names}, body...), nil
}

type meter struct {
	depth int
	// tooDeep is the first line that nests too deeply.
	tooDeep int
	// cost is the cost so far of the statements in the innermost block.
	cost int
	// constants are the constants so far of the innermost function, and lookups the comparisons to find those of all
	// functions.
	constants map[string]bool
	lookups   int
}

// block meters statements. The charge includes extra.
func (m *meter) block(stmts []ast.Stmt, extra, line int) []ast.Stmt {
	outer := m.cost
	m.cost = extra
	for _, s := range stmts {
		m.stmt(s)
	}
	cost := m.cost
	m.cost = outer
	if cost == 0 {
		return stmts
	}
	if len(stmts) > 0 {
		line = stmts[0].Line()
	}
	return append([]ast.Stmt{charge(cost, line)}, stmts...)
}

// charge returns the statement that takes from the budget.
func charge(cost, line int, more ...ast.Expr) *ast.FuncCallStmt {
	n := &ast.NumberExpr{Value: strconv.Itoa(cost)}
	n.SetLine(line)
	s := &ast.FuncCallStmt{Expr: call(blockName, line, append([]ast.Expr{n}, more...)...)}
	s.SetLine(line)
	return s
}

// call returns a call of a metering function, which has one value.
func call(name string, line int, args ...ast.Expr) *ast.FuncCallExpr {
	f := &ast.IdentExpr{Value: name}
	f.SetLine(line)
	e := &ast.FuncCallExpr{Func: f, Args: args, AdjustRet: true}
	e.SetLine(line)
	e.SetLastLine(line)
	return e
}

// enter returns whether the syntax may nest deeper; if so, the caller calls leave.
func (m *meter) enter(line int) bool {
	if m.depth >= maxDepth {
		if m.tooDeep == 0 {
			m.tooDeep = max(line, 1)
		}
		return false
	}
	m.depth++
	return true
}

func (m *meter) leave() { m.depth-- }

func (m *meter) stmt(s ast.Stmt) {
	if !m.enter(s.Line()) {
		return
	}
	defer m.leave()
	switch s := s.(type) {
	case *ast.AssignStmt:
		m.exprs(s.Rhs)
		for _, target := range s.Lhs {
			m.target(target)
		}
		settle(s)
	case *ast.LocalAssignStmt:
		m.exprs(s.Exprs)
	case *ast.FuncCallStmt:
		s.Expr = m.expr(s.Expr)
	case *ast.ReturnStmt:
		m.exprs(s.Exprs)
	case *ast.DoBlockStmt:
		s.Stmts = m.block(s.Stmts, 0, s.Line())
	case *ast.IfStmt:
		s.Condition = m.expr(s.Condition)
		s.Then = m.block(s.Then, 0, s.Line())
		s.Else = m.block(s.Else, 0, s.Line())
	case *ast.WhileStmt:
		s.Condition, s.Stmts = m.loop(s.Condition, s.Stmts, s.Line())
	case *ast.RepeatStmt:
		s.Condition, s.Stmts = m.loop(s.Condition, s.Stmts, s.Line())
	case *ast.NumberForStmt:
		s.Init, s.Limit, s.Step = m.expr(s.Init), m.expr(s.Limit), m.expr(s.Step)
		s.Stmts = m.block(s.Stmts, 0, s.Line())
	case *ast.GenericForStmt:
		m.exprs(s.Exprs)
		for _, e := range s.Exprs {
			if e, ok := e.(*ast.FuncCallExpr); ok {
				e.Func = settled(e.Func)
			}
		}
		s.Stmts = m.block(s.Stmts, 0, s.Line())
	case *ast.FuncDefStmt:
		m.cost += fieldCost
		m.constant(s.Name.Method)
		m.expr(s.Name.Func)
		m.expr(s.Name.Receiver)
		m.expr(s.Func)
	}
}

// loop meters a loop: its condition is charged once before it, and again in each iteration.
func (m *meter) loop(condition ast.Expr, stmts []ast.Stmt, line int) (ast.Expr, []ast.Stmt) {
	before := m.cost
	condition = m.expr(condition)
	return condition, m.block(stmts, m.cost-before, line)
}
