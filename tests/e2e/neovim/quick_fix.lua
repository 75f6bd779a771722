-- nvim --headless -u NONE -n -c 'luafile quick_fix.lua' FILE
-- Starts graphmend-lsp the way docs/editors.md says for Neovim 0.7, waits for the break, saves so that torch confirms it,
-- applies the mend, and writes the file. GRAPHMEND_PLAN: JSON {command, text, action}.

local plan = vim.fn.json_decode(os.getenv("GRAPHMEND_PLAN"))
local buffer = vim.api.nvim_get_current_buf()

local function say(...) io.stdout:write(table.concat(vim.tbl_map(tostring, { ... }), " ") .. "\n") end

local function ours()
  return vim.tbl_filter(function(one) return one.source == "graphmend" end, vim.diagnostic.get(buffer))
end

local function text_of(one)
  local line = vim.api.nvim_buf_get_lines(buffer, one.lnum, one.lnum + 1, false)[1]
  return line and one.end_lnum == one.lnum and line:sub(one.col + 1, one.end_col) or ""
end

local function fail(why)
  say("FAILED", why, vim.inspect(ours()))
  say(table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n"))
  vim.cmd("cquit 1")
end

local function wait_for(what, seconds, ready)
  if not vim.wait(seconds * 1000, ready, 50) then fail("waited " .. seconds .. " s until " .. what) end
end

local function shown(severity)
  for _, one in ipairs(ours()) do
    if text_of(one) == plan.text and (severity == nil or one.severity == severity) then return one end
  end
end

vim.bo[buffer].filetype = "python"
local client_id = vim.lsp.start_client({
  name = "graphmend",
  cmd = plan.command,
  root_dir = vim.fn.getcwd(),
  init_options = { trusted = true },
})
vim.lsp.buf_attach_client(buffer, client_id)

wait_for("the break is found by reading", 15, function() return shown(nil) end)
say("read:", shown(nil).message)

vim.cmd("write")
wait_for("torch confirms the break", 45, function() return shown(vim.diagnostic.severity.WARN) end)
local confirmed = shown(vim.diagnostic.severity.WARN)
say("run:", confirmed.message)

-- Neovim 0.7 lets the user choose; the choice here is the mend that is proven, once there is one.
local chosen
vim.ui.select = function(items, _, on_choice)
  for index, item in ipairs(items) do
    local title = item[2].title
    if title:find(plan.action, 1, true) and not title:find("(not verified yet)", 1, true) then
      chosen = title
      return on_choice(item, index)
    end
  end
  on_choice(nil)
end
vim.api.nvim_win_set_cursor(0, { confirmed.lnum + 1, confirmed.col })
local function changed() return vim.bo[buffer].modified end
wait_for("the mend is offered and applied", 20, function()
  if not chosen then
    vim.lsp.buf.code_action({ only = { "quickfix" } })
    vim.wait(500, changed, 20)
  end
  return changed()
end)
say("applied:", chosen)

vim.cmd("write")
wait_for("the diagnostic is gone", 45, function() return not shown(nil) end)

vim.lsp.stop_client(client_id)
local client = vim.lsp.get_client_by_id(client_id)
wait_for("the server has ended", 10, function() return client == nil or client.is_stopped() end)
say("PASS")
vim.cmd("qall!")
