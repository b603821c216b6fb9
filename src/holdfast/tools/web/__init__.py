"""The web as tools: fetching a page, searching.

fetch.py             one address, checked at every hop, bounded in size and time
documents.py         what was fetched as text
document_process.py  the process that reads strangers' HTML and PDF
search.py            the services that search
web_tools.py         the tools
"""
